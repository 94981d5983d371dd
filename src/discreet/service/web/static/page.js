// The pages work without this. It adds: previews while typing, completion, sliders, copy buttons.
"use strict";

const formKey = document.body.dataset.formKey;
const byId = (name) => document.getElementById(name);
const all = (selector) => [...document.querySelectorAll(selector)];

function later(milliseconds, work) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...given), milliseconds);
  };
}

function make(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

const number = (value) => value.toLocaleString("en", { maximumSignificantDigits: 4 });

// A token behind # in the address never leaves the browser but in the sign-in form.
const signIn = byId("sign-in");
if (signIn && location.hash.startsWith("#discreet_")) {
  signIn.elements.token.value = location.hash.slice(1);
  history.replaceState(null, "", location.pathname + location.search);
  signIn.submit();
}

for (const button of all("button.copy")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.previousElementSibling.textContent);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
}

for (const button of all("button.back")) {
  button.hidden = false;
  button.addEventListener("click", () => history.back());
}

for (const form of all("form[data-confirm]")) {
  form.addEventListener("submit", (event) => {
    if (!confirm(form.dataset.confirm)) event.preventDefault();
  });
}

// The cost of a question, while it is typed.
const question = byId("question");
if (question) {
  const shown = byId("preview");
  const ask = byId("ask");
  const { sql, epsilon, accuracy } = question.elements;
  let asked = 0;

  const priceText = (cost) => {
    const [notion] = Object.keys(cost).filter((each) => each !== "delta");
    const [top, bottom] = cost[notion].split("/").map(Number);
    const amount = top / (bottom || 1);
    if (notion === "mu_squared") return `μ ${number(Math.sqrt(amount))}`;
    return `${notion === "rho" ? "ρ" : "ε"} ${number(amount)}`;
  };

  const preview = later(350, async () => {
    if (!ask) return;
    shown.replaceChildren();
    if (!sql.value.trim()) return;
    const mine = ++asked;
    const body = { sql: sql.value };
    if (accuracy.value.trim()) body.accuracy = accuracy.value.trim();
    else body.budget = { [question.dataset.notion]: epsilon.value.trim() || "0.1" };
    let found;
    let response;
    try {
      response = await fetch(question.dataset.preview, {
        method: "POST",
        headers: { "Content-Type": "application/json", "X-Discreet-Form-Key": formKey },
        body: JSON.stringify(body),
      });
      found = await response.json();
    } catch {
      if (mine === asked) shown.append(make("div", "The service cannot be reached.", "mistake"));
      return;
    }
    if (mine !== asked) return;
    const button = ask.querySelector("button");
    if (!response.ok) {
      const box = make("div", undefined, "mistake");
      box.append(make("strong", "Not answered."), ` ${found.error.message}`);
      shown.append(box);
      return;
    }
    const line = make("p");
    line.append(make("strong", priceText(found.cost)));
    const many = found.rows === null ? "this answer" : found.rows === 1 ? "one number" : `${number(found.rows)} rows`;
    const margins = found.margins.map(({ name, margin }) =>
      `${name}: ${margin === null ? "its margin depends on the rows" : `± ${number(margin)}`}`);
    line.append(` for ${many}. ${margins.join("; ")}${margins.length ? ". " : ""}`);
    if (found.recorded) line.append("You asked this before: it costs nothing more.");
    else if (!found.affordable) line.append(make("strong", "More than you have left.", "bad"));
    shown.append(line);
    for (const field of ["sql", "epsilon", "accuracy"]) {
      ask.elements[field].value = question.elements[field].value;
    }
    button.disabled = !found.affordable;
    button.textContent = found.recorded ? "Show the answer" : `Ask for ${priceText(found.cost)}`;
  });
  const changed = () => {
    asked += 1;
    if (ask) ask.querySelector("button").disabled = true; // until the form holds what is shown: else an older question could be charged
    preview();
  };
  for (const field of [sql, epsilon, accuracy]) field.addEventListener("input", changed);
  accuracy.addEventListener("input", () => { if (accuracy.value.trim()) epsilon.value = ""; });
  epsilon.addEventListener("input", () => { if (epsilon.value.trim()) accuracy.value = ""; });
}

// Names of columns, values and functions, offered while SQL is typed.
const FUNCTIONS = ["count(*)", "avg(", "sum(", "median(", "quantile(", "stddev(", "variance(",
  "histogram(", "GROUP BY", "WHERE", "BETWEEN", "ORDER BY", "SELECT", "FROM"];
for (const box of all("textarea[data-columns]")) {
  const columns = JSON.parse(box.dataset.columns);
  const words = [
    ...columns.map((each) => each.name),
    ...columns.flatMap((each) => each.values.map((value) => `'${value.replaceAll("'", "''")}'`)),
    ...FUNCTIONS,
  ];
  const list = make("ul", undefined, "offers");
  list.id = `offers-${Math.random().toString(36).slice(2)}`;
  list.hidden = true;
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Completions");
  box.parentElement.append(list);
  box.setAttribute("aria-controls", list.id);
  box.setAttribute("aria-autocomplete", "list");
  let chosen = 0;

  const typed = () => /['\p{L}_][\p{L}\p{N}_(*]*$/u.exec(box.value.slice(0, box.selectionStart))?.[0] ?? "";
  const close = () => { list.hidden = true; box.removeAttribute("aria-activedescendant"); };
  const mark = () => {
    [...list.children].forEach((each, place) => {
      each.setAttribute("aria-selected", String(place === chosen));
      if (place === chosen) box.setAttribute("aria-activedescendant", each.id);
    });
  };
  const take = (word) => {
    const start = box.selectionStart - typed().length;
    box.setRangeText(word, start, box.selectionStart, "end");
    close();
    box.dispatchEvent(new Event("input", { bubbles: true }));
    close();
  };
  box.addEventListener("input", () => {
    const begun = typed().toLowerCase();
    const found = begun.length < 1 ? [] : words.filter((word) =>
      word.replace(/^"/, "").toLowerCase().startsWith(begun) && word.toLowerCase() !== begun).slice(0, 8);
    list.replaceChildren(...found.map((word, place) => {
      const each = make("li", word);
      each.id = `${list.id}-${place}`;
      each.setAttribute("role", "option");
      each.addEventListener("mousedown", (event) => { event.preventDefault(); take(word); });
      return each;
    }));
    chosen = 0;
    list.hidden = !found.length;
    if (found.length) mark(); else close();
  });
  box.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "Enter") {
      event.preventDefault();
      box.form.requestSubmit();
      return;
    }
    if (list.hidden) return;
    const many = list.children.length;
    if (event.key === "ArrowDown") chosen = (chosen + 1) % many;
    else if (event.key === "ArrowUp") chosen = (chosen + many - 1) % many;
    else if (event.key === "Tab") { event.preventDefault(); take(list.children[chosen].textContent); return; }
    else if (event.key === "Escape") { close(); return; }
    else return;
    event.preventDefault();
    mark();
  });
  box.addEventListener("blur", close);
}

// A column's boxes are those of its kind.
for (const part of all("section.column")) {
  const kind = part.querySelector("select[name^='kind ']");
  const show = () => {
    for (const label of part.querySelectorAll("label[data-kinds]")) {
      label.hidden = !label.dataset.kinds.split(" ").includes(kind.value);
    }
  };
  kind.addEventListener("change", show);
  show();
}

// Expected errors that move with the budget and the shares.
const plan = byId("plan");
if (plan) {
  const slider = byId("epsilon-slider");
  const epsilon = plan.elements.epsilon;
  const shownEpsilon = byId("epsilon-shown");
  const table = byId("errors").tBodies[0];
  const said = byId("plan-said");
  slider.hidden = false;
  slider.value = String(Math.log10(Number(epsilon.value) || 1));

  const query = () => {
    const sent = new URLSearchParams();
    sent.set("epsilon", epsilon.value);
    for (const box of plan.querySelectorAll("input[type=checkbox]:checked")) {
      sent.append("for", box.value);
      const weight = [...plan.elements].find((each) => each.name === `weight ${box.value}`);
      sent.append(`weight ${box.value}`, weight ? weight.value : "1");
    }
    const own = [...plan.querySelectorAll("input[name=for]:not([type=checkbox])")];
    for (const each of own) if (each.value.trim()) sent.append("for", each.value.trim());
    return sent;
  };
  let asked = 0;
  const publish = byId("publish");
  const allow = (may) => { if (publish) publish.querySelector("button").disabled = !may; };
  const planAgain = later(200, async () => {
    const mine = ++asked;
    const sent = query();
    const response = await fetch(`${plan.dataset.plan}?${sent}`);
    const found = await response.json();
    if (mine !== asked) return;
    said.replaceChildren();
    allow(response.ok);
    if (!response.ok) {
      said.append(make("div", found.error.message, "mistake"));
      return;
    }
    table.replaceChildren(...found.rows.map((row) => {
      const line = make("tr");
      const first = make("td");
      first.append(make("code", row.class));
      line.append(first, make("td", row.error + (row.unit === "rows" ? "" : ` ${row.unit}`), "n"),
        make("td", row.small, "n"), make("td", row.clear, "n"));
      return line;
    }));
    if (publish) {
      publish.elements.wish.value = sent.toString();
      publish.querySelector(".check strong").textContent = `ε ${epsilon.value}`;
    }
    history.replaceState(null, "", `?${sent}`);
  });
  const replan = () => {
    allow(false); // until the form holds what the page shows: else an older budget could be charged
    asked += 1;
    planAgain();
  };
  slider.addEventListener("input", () => {
    epsilon.value = String(Number((10 ** Number(slider.value)).toPrecision(2)));
    shownEpsilon.textContent = epsilon.value;
    replan();
  });
  plan.addEventListener("input", (event) => {
    if (event.target === slider) return;
    if (event.target === epsilon && Number(epsilon.value) > 0) {
      slider.value = String(Math.log10(Number(epsilon.value)));
      shownEpsilon.textContent = epsilon.value;
    }
    replan();
  });
}

// A table is sent as it is, not as a form.
const upload = byId("upload");
if (upload) {
  upload.addEventListener("submit", async (event) => {
    event.preventDefault();
    const [file] = upload.querySelector("input[type=file]").files;
    const status = upload.querySelector("[role=status]");
    status.textContent = "Sending …";
    const name = file.name.replace(/[^A-Za-z0-9_.-]+/g, "-");
    const response = await fetch(upload.dataset.to + encodeURIComponent(name), {
      method: "PUT",
      headers: { "X-Discreet-Form-Key": formKey, "Content-Type": "application/octet-stream" },
      body: file,
    });
    const found = await response.json();
    if (response.ok) location.assign(found.next);
    else status.textContent = found.error.message;
  });
}

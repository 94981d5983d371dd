"""The web pages: rendered on the server, with one small script and one style sheet of our own."""

"""From a schema and a request to SQL that no row can make fail; see `dialect` for what databases differ in."""

"""Random questions to releases of made-up tables, held to what DuckDB says of the rows behind them."""

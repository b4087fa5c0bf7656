"""One spelling for each value: JSON, base64url, decimals, names, times and cells of CSV files."""

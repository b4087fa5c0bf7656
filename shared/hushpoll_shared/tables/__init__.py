"""Results as tables with named columns, and the files of tables: CSV and XLSX."""

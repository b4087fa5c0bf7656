"""The statements of the package, a module for each table or pair of tables."""

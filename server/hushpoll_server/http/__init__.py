"""How a request is read and answered: its token, its form, tables and encodings of an answer."""

"""How answers to several questions depend on each other, and how answers change."""

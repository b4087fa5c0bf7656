"""Results as they are today, which every later commit is held to.

``scripts/make_pins`` writes ``values/*.json``, and ``test_pinned.py`` computes the same again. A
refactoring leaves these files alone. A commit that changes a result on purpose writes them again
and says in CHANGELOG.md which result changed and why.

Three kinds of values are compared in three ways (`comparison.py`):

- integers, names and digests of integer arrays (records, indicators, support counts): exactly, on
  any machine;
- floating-point numbers (estimates, cross-tables, audits, plans): to 1e-12 relative;
- what LightGBM made (everything below a key ``learned``: scores, trees, metrics): bit for bit, and
  the floating-point numbers of an audit of it to 1e-12.

The last two hold where arithmetic is the same (`arithmetic.py`): another processor may round the
last bit of an exponential differently, and no test is to fail for this. There, numbers are compared
to 1e-6 (results of iterations to 1e-3), and what LightGBM made to 0.05, because one such bit can
change a tree. This was tried with the instructions of newer processors switched off.

The values hold for the versions of ``constraints.txt``. Each file names those it was made with.
"""

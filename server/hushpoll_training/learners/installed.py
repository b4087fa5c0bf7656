"""A check that the libraries of the extra ``train`` are there; the error names the remedy."""

from hushpoll_protocols.errors import MissingExtra

try:
    import lightgbm
    import pandas
    import sklearn
except ImportError as error:
    raise MissingExtra("train", "training") from error
except OSError as error:
    # The smallest systems lack the library of LightGBM's threads, which its wheel does not bring.
    if "libgomp" not in str(error):
        raise
    raise MissingExtra("train", "training", library=("libgomp.so.1", "libgomp1")) from error

del lightgbm, pandas, sklearn

"""Documents about a survey beside its reports: the codebook and the privacy sheet."""

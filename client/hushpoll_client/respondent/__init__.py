"""One respondent of one survey: pin, preview, randomize, report, receipt."""

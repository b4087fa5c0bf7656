"""Whether a result can tell anything: decided from the reports' number and law, never from them."""

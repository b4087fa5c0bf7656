"""What the installed SDKs really spend, measured from outside."""

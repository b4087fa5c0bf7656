"""What a report costs, and what so many reports a day need: measured, extrapolated, and a page."""

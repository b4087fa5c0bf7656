"""What analysts get: releases, estimates, exports and jobs."""

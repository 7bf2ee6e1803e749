"""The long ones run in `./dev long` and `./dev crash`; what the disk of the tests does is tested always."""

import os

collect_ignore = [] if "URLSIEVE_KILLS" in os.environ else ["test_cuts.py", "test_failures.py"]

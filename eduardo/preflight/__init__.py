"""Whether a run can start here: `python -m eduardo.preflight`, and the first seconds of every training."""

from eduardo.preflight.classroom import check_classroom, require_endpoints
from eduardo.preflight.findings import Finding, Status, failure_of
from eduardo.preflight.local import check_dry, check_locally, require_inputs
from eduardo.preflight.table import print_findings

__all__ = [
    "Finding",
    "Status",
    "check_classroom",
    "check_dry",
    "check_locally",
    "failure_of",
    "print_findings",
    "require_endpoints",
    "require_inputs",
]

"""What a run needs before it is started: memory per GPU, tokens and requests per step, hours."""

from eduardo.planning.architecture import Architecture, LinearAttention, read_architecture
from eduardo.planning.cost import RunCost, estimate_cost
from eduardo.planning.layout import Layout
from eduardo.planning.memory import MemoryEstimate, checkpoint_bytes, estimate_memory
from eduardo.planning.run import PlannedRun, num_rows
from eduardo.planning.settings import PlanningSettings
from eduardo.planning.workload import Workload, estimate_workload

__all__ = [
    "Architecture",
    "Layout",
    "LinearAttention",
    "MemoryEstimate",
    "PlannedRun",
    "PlanningSettings",
    "RunCost",
    "Workload",
    "checkpoint_bytes",
    "estimate_cost",
    "estimate_memory",
    "estimate_workload",
    "num_rows",
    "read_architecture",
]

"""Studies: parameter sweeps, sensitivities, optimization and uncertainty."""

from .optimization.design_optimization import optimize
from .optimization.design_search import DesignSearch
from .optimization.experiments import Experiment
from .optimization.optimum import Optimum
from .optimization.parameter_fit import ParameterFit, fit
from .optimization.pareto import pareto
from .optimization.pareto_front import ParetoFront
from .optimization.synthesis import Linkage, Synthesis, synthesize
from .optimization.trajectory_optimization import OptimalMotion, optimal_motion
from .sensitivities.sensitivity import Sensitivity, sensitivity
from .sweeps.cases import Case
from .sweeps.comparison import CampaignComparison, compare
from .sweeps.experiment_designs import design_of_experiments
from .sweeps.study import Study
from .sweeps.sweep import load_sweep, sweep
from .uncertainties import Uncertainty, uncertainty

__all__ = [
    "CampaignComparison",
    "Case",
    "DesignSearch",
    "Experiment",
    "Linkage",
    "OptimalMotion",
    "Optimum",
    "ParameterFit",
    "ParetoFront",
    "Sensitivity",
    "Study",
    "Synthesis",
    "Uncertainty",
    "compare",
    "design_of_experiments",
    "fit",
    "load_sweep",
    "optimal_motion",
    "optimize",
    "pareto",
    "sensitivity",
    "sweep",
    "synthesize",
    "uncertainty",
]

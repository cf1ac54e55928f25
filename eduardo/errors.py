"""Failures, named by the boundary that they crossed. Nothing here may ever turn into a reward."""


class EduardoError(Exception):
    """Base of every failure that this project raises on purpose."""


class UserError(EduardoError):
    """Bad input or settings. The message is one line that names the file, row or key and says what to do."""


class EndpointError(EduardoError):
    """A student, judge or tutor endpoint gave no usable answer."""


class EndpointUnavailable(EndpointError):
    """Transient fault that outlasted the retries: the sample is void, the run goes on."""


class EndpointRejected(EndpointError):
    """Permanent refusal (bad key, unknown model, context too small): the run must stop before it starts."""


class RequestRefused(EndpointRejected):
    """Permanent refusal of what this very request holds; others may pass."""

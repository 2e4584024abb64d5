"""Messages for errors of Temporal: a refusal, or no answer."""

from temporalio.service import RPCError, RPCStatusCode

SILENT = (RPCStatusCode.UNAVAILABLE, RPCStatusCode.DEADLINE_EXCEEDED, RPCStatusCode.CANCELLED)


def refusal(error: RPCError) -> str:
    """Temporal's error, and the remedy."""
    if error.status in SILENT:
        return f"Temporal does not answer ({error.message}). Is it up? See `fascicle doctor`."
    if is_about_namespace(error):
        return (
            f"{error.message} Set TEMPORAL_NAMESPACE to one that exists, or create it: "
            "`fascicle setup --create-namespace`."
        )
    return f"Temporal refused: {error.message}"


def is_about_namespace(error: RPCError) -> bool:
    """True if the namespace itself is missing, not an object in it."""
    return error.status == RPCStatusCode.NOT_FOUND and "namespace" in error.message.lower()

"""Whether anybody says where Temporal is. Apart from the client, which takes long to load."""

from temporalio.envconfig import ClientConfig


def names_a_server() -> bool:
    """Does the environment (or a Temporal profile file) say where Temporal is?"""
    return bool(ClientConfig.load_client_connect_config().get("target_host"))

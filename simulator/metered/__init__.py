"""Shared code of the paid upstreams: scripted answers, and a ledger of every call."""

from simulator.metered.ledger import CallLedger
from simulator.metered.records import PaidCall, Script, ServiceOptions, Tally
from simulator.metered.sending import SendingApp
from simulator.metered.service import Service
from simulator.metered.site import MeteredSite, Outcome

__all__ = [
    "CallLedger",
    "MeteredSite",
    "Outcome",
    "PaidCall",
    "Script",
    "SendingApp",
    "Service",
    "ServiceOptions",
    "Tally",
]

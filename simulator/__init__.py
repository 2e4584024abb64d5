"""Local stand-ins for the upstream sites, on one port, with a scripted world and faults on demand."""

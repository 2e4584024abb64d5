"""Our side of Temporal's SDK: the client, workers, encryption of payloads, metrics."""

"""What the code runs on: settings, HTTP, notifier, logs, metrics, the embedded servers."""

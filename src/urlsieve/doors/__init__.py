"""Where others come in: a door translates one outside world (shell, framework, HTTP) into the façade's verbs; none decides."""

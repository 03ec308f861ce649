package fault

// prompts are the faults of server/prompts.
func prompts() []Fault { return nil }

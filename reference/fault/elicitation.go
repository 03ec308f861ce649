package fault

// elicitation are the faults of client/elicitation.
func elicitation() []Fault { return nil }

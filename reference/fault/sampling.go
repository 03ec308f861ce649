package fault

// sampling are the faults of client/sampling.
func sampling() []Fault { return nil }

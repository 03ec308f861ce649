package fault

// resources are the faults of server/resources.
func resources() []Fault { return nil }

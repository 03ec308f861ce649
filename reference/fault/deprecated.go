package fault

// deprecated are the faults of the registry of deprecated features.
func deprecated() []Fault { return nil }

package server

// The JSON Schemas of arguments and results (server/tools#tool).

// objectSchema returns the schema of an object with these properties. Further
// members are allowed.
func objectSchema(properties Object, required ...string) Object {
	s := Object{"type": "object", "properties": properties}
	if len(required) > 0 {
		names := []any{}
		for _, name := range required {
			names = append(names, name)
		}
		s["required"] = names
	}
	return s
}

// closedSchema returns the schema of an object with these properties and no other
// members.
func closedSchema(properties Object, required ...string) Object {
	s := objectSchema(properties, required...)
	s["additionalProperties"] = false
	return s
}

// noArguments returns the schema of a tool without arguments, as server/tools#tool
// recommends it.
func noArguments() Object { return Object{"type": "object", "additionalProperties": false} }

// stringSchema returns the schema of a string with length bounds.
func stringSchema(minLength, maxLength int) Object {
	return Object{"type": "string", "minLength": minLength, "maxLength": maxLength}
}

// stringArgument returns the schema of a tool that takes one string.
func stringArgument(name string) Object {
	return closedSchema(Object{name: stringSchema(1, 200)}, name)
}

// integerSchema returns the schema of an integer with bounds and a default.
func integerSchema(minimum, maximum, preset int, description string) Object {
	return Object{
		"type": "integer", "minimum": minimum, "maximum": maximum, "default": preset, "description": description,
	}
}

package target

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

// ReadLines reads a file of JSON values, one on each line.
func ReadLines[T any](path string) ([]T, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var out []T
	for line := range bytes.Lines(text) {
		var v T
		if err := json.Unmarshal(line, &v); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, len(out)+1, err)
		}
		out = append(out, v)
	}
	return out, nil
}

// WriteLines writes JSON values to a file, one on each line.
func WriteLines[T any](path string, values []T) error {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, v := range values {
		if err := e.Encode(v); err != nil {
			return err
		}
	}
	return os.WriteFile(path, b.Bytes(), 0o644)
}

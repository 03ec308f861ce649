// Package sdk recognizes the SDK that a server is built with by the texts of its errors,
// and lists the deviations that are known to come from the SDK, not from its user.
package sdk

import (
	"bufio"
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// An SDK is a library for servers.
type SDK struct {
	Name string
	// Errors are patterns of messages of errors that the SDK makes and its users do not.
	Errors []*regexp.Regexp
	// Checks are the ids of the checks that servers with it fail, whatever their authors do.
	Checks []string
	// Targets are the servers in interop/verdicts that show it.
	Targets []string
}

//go:embed known.jsonl
var known []byte

// All returns the SDKs whose deviations are known.
func All() ([]SDK, error) {
	var all []SDK
	for lines := bufio.NewScanner(bytes.NewReader(known)); lines.Scan(); {
		var line struct {
			Name                    string
			Errors, Checks, Targets []string
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			return nil, fmt.Errorf("known.jsonl: %w", err)
		}
		s := SDK{Name: line.Name, Checks: line.Checks, Targets: line.Targets}
		for _, pattern := range line.Errors {
			re, err := regexp.Compile(pattern)
			if err != nil {
				return nil, fmt.Errorf("known.jsonl: %s: %w", line.Name, err)
			}
			s.Errors = append(s.Errors, re)
		}
		all = append(all, s)
	}
	return all, nil
}

// Recognize returns the only SDK that makes errors as they are among the messages of a
// server; nil if none or several do.
func Recognize(all []SDK, messages []wire.Message) *SDK {
	var found *SDK
	for i := range all {
		if slices.ContainsFunc(messages, all[i].made) {
			if found != nil {
				return nil
			}
			found = &all[i]
		}
	}
	return found
}

// made reports whether the SDK makes errors like a message.
func (s *SDK) made(m wire.Message) bool {
	if m.Kind != wire.Error {
		return false
	}
	text := m.Error().Get("message").String()
	return slices.ContainsFunc(s.Errors, func(re *regexp.Regexp) bool { return re.MatchString(text) })
}

// Knows reports whether servers with the SDK fail a check, whatever their authors do.
func (s *SDK) Knows(check string) bool { return slices.Contains(s.Checks, check) }

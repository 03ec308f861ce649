// Gen writes the JSON Schemas of all revisions from messages.yaml. It is run by
// `go generate ./internal/schema`; its argument is the folder to write to.
package main

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

//go:embed messages.yaml
var messages []byte

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen FOLDER")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func write(folder string) error {
	schemas, err := generate(messages)
	if err != nil {
		return err
	}
	for rev, text := range schemas {
		if err := os.WriteFile(filepath.Join(folder, string(rev)+".json"), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate returns the schema document of every revision.
func generate(text []byte) (map[spec.Revision][]byte, error) {
	src, err := readSource(text)
	if err != nil {
		return nil, err
	}
	schemas := map[spec.Revision][]byte{}
	for _, rev := range spec.Revisions() {
		if schemas[rev], err = schemaOf(src, rev); err != nil {
			return nil, err
		}
	}
	return schemas, nil
}

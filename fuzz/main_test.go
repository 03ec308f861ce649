package fuzz

import (
	"flag"
	"os"
	"testing"
)

// Targets that hang are waited for, beside one another.
func TestMain(m *testing.M) {
	if err := flag.Lookup("test.parallel").Value.Set("8"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

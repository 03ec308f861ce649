// Package skip lets a test be left out where what it needs is missing, on a
// developer's machine. CI has everything, so that there the test fails.
package skip

import (
	"os"
	"os/exec"
	"testing"
)

// Missing skips the test, or fails it in CI (the environment variable CI is
// true), since what it needs is missing.
func Missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("missing in CI: %s", what)
	}
	t.Skipf("left out: %s is missing", what)
}

// Program returns the path of a program, or leaves the test out.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, "the program "+name)
	}
	return path
}

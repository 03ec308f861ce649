// Package skip skips tests whose prerequisites are missing on the machine of a
// developer. In CI, which has all of them, such a test fails.
package skip

import (
	"os"
	"os/exec"
	"testing"
)

// Missing skips the test because a prerequisite is missing. It fails the test if
// the environment variable CI is true.
func Missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("missing in CI: %s", what)
	}
	t.Skipf("skipped: %s is missing", what)
}

// WithoutProgram returns the path of a program. It skips the test without it.
func WithoutProgram(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, "the program "+name)
	}
	return path
}

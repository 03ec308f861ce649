package engine

import (
	"flag"
	"os"
	"testing"
)

// Most of these tests wait for timeouts, so more of them run at once than the machine has
// cores. The flag is set by its value: Ginkgo does not run in a process that has it as an
// argument.
func TestMain(m *testing.M) {
	if err := flag.Lookup("test.parallel").Value.Set("20"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

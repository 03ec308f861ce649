package engine

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"

	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Where returns the file and line of a check's body, from the module's root.
func Where(c check.Check) string {
	file, line := Location(c)
	if i := strings.LastIndex(file, "/suites/"); i >= 0 {
		file = file[i+1:]
	}
	return fmt.Sprintf("%s:%d", file, line)
}

// Location returns the file and line of a check's body.
func Location(c check.Check) (file string, line int) {
	body := reflect.ValueOf(c.Probe)
	if c.Judge != nil {
		body = reflect.ValueOf(c.Judge)
	}
	f := runtime.FuncForPC(body.Pointer())
	return f.FileLine(f.Entry())
}

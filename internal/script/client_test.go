package script

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/transport"
)

func TestExpandCommand(t *testing.T) {
	server := []string{"/opt/my tools/mcpcheck", "__bridge", "/tmp/s"}
	const quoted = "'/opt/my tools/mcpcheck' __bridge /tmp/s"
	for _, c := range []struct {
		argv, want []string
		err        string
	}{
		{[]string{"c", "{server}"}, slices.Concat([]string{"c"}, server), ""},
		{[]string{"c", "--", "{server}", "x"}, slices.Concat([]string{"c", "--"}, server, []string{"x"}), ""},
		{[]string{"c", "--cmd={server}"}, []string{"c", "--cmd=" + quoted}, ""},
		{[]string{"{server}", "{server}!"}, slices.Concat(server, []string{quoted + "!"}), ""},
		{[]string{"c", "{url}"}, nil, "{url}"},
		{[]string{"c", "--to={url}", "{server}"}, nil, "{url}"},
		{[]string{"c", "server"}, nil, "{server}"},
	} {
		got, err := ExpandCommand(c.argv, server)
		if !isError(err, c.err) || !slices.Equal(got, c.want) {
			t.Errorf("%q became %q, %v", c.argv, got, err)
		}
	}
	out, err := exec.Command("sh", "-c", `printf '%s|' `+transport.ShellQuote(server)).Output()
	if err != nil || string(out) != strings.Join(server, "|")+"|" {
		t.Errorf("a shell reads %q, %v", out, err)
	}
}

func TestExpandURL(t *testing.T) {
	const url = "http://127.0.0.1:7/mcp"
	for _, c := range []struct {
		argv, want []string
		err        string
	}{
		{[]string{"c"}, []string{"c", url}, ""},
		{[]string{"c", "{url}", "x"}, []string{"c", url, "x"}, ""},
		{[]string{"c", "--to={url}"}, []string{"c", "--to=" + url}, ""},
		{[]string{"c", "{server}"}, nil, "{url}"},
	} {
		got, err := ExpandURL(c.argv, url)
		if !isError(err, c.err) || !slices.Equal(got, c.want) {
			t.Errorf("%q became %q, %v", c.argv, got, err)
		}
	}
}

// isError reports whether an error contains a text; "" means no error.
func isError(err error, text string) bool {
	if text == "" {
		return err == nil
	}
	return err != nil && strings.Contains(err.Error(), text)
}

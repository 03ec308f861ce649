package server

import (
	"fmt"
	"net"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

func TestRefusesForeignHostAndOrigin(t *testing.T) {
	b := startHTTP(t, Options{})
	_, port, _ := net.SplitHostPort(b.server.addr.String())
	s := b.openSession(spec.V2025_11_25, "{}")
	own := "127.0.0.1:" + port
	for _, c := range []struct{ host, origin string }{
		{own, "http://evil.example"},
		{own, "null"},
		{own, "http://127.0.0.1:" + port + ".evil.example"},
		{own, "http://127.0.0.1.evil.example:" + port},
		{own, "http://evil.example:" + port},
		{own, "http://localhost:1"},
		{own, "http://localhost"},
		{own, "http://127.0.0.1:" + port + "@evil.example"},
		{own, "http://evil.example#@127.0.0.1:" + port},
		{own, "http://user@127.0.0.1:" + port},
		{own, "http://127.0.0.1:" + port + "/"},
		{own, "http://127.0.0.1:0" + port},
		{own, "https://127.0.0.1:" + port},
		{own, "file://"},
		{own, "http://evil.example, http://127.0.0.1:" + port},
		{own, "http://127.0.0.1:" + port + "\r\nOrigin: http://evil.example"},
		{"evil.example:" + port, ""},
		{"evil.example:" + port, "http://evil.example:" + port},
		{"127.0.0.1.evil.example", ""},
		{"localhost.", ""},
		{"127.0.0.1:" + port + "x", ""},
		{"[::1].evil.example", ""},
		{"0.0.0.0:" + port, ""},
	} {
		headers := "Host: " + c.host + "\r\nAccept: " + acceptBoth + "\r\n" +
			"Content-Type: application/json\r\nMcp-Session-Id: " + s.id + "\r\n"
		if c.origin != "" {
			headers += "Origin: " + c.origin + "\r\n"
		}
		for _, line := range []string{
			"POST /mcp", "GET /mcp", "DELETE /mcp", "GET /sse", "POST /messages?session=x",
		} {
			// net/http itself refuses an invalid Host.
			if got := sendRaw(t, b, line, headers, pingRequest); got != 403 && (got != 400 || c.origin != "") {
				t.Errorf("%s from %q at %q: status %d", line, c.origin, c.host, got)
			}
		}
	}
	b.wantStatus(s.post(pingRequest), 200) // the session still exists
}

func TestAcceptsItsOwnHostAndOrigin(t *testing.T) {
	b := startHTTP(t, Options{})
	_, port, _ := net.SplitHostPort(b.server.addr.String())
	s := b.openSession(spec.V2025_11_25, "{}")
	own := "127.0.0.1:" + port
	for _, c := range []struct{ host, origin string }{
		{own, ""},
		{"localhost:" + port, "http://localhost:" + port},
		{own, "http://localhost:" + port},
		{"LOCALHOST:" + port, "http://[::1]:" + port},
		{"localhost", "http://localhost"},
	} {
		headers := []string{"Host: " + c.host, "Origin: " + c.origin}
		b.wantStatus(s.post(pingRequest, headers...), 200)
	}
}

func TestAcceptsAllowedHostsAndOrigins(t *testing.T) {
	open := startHTTP(t, Options{
		HTTP: HTTP{AllowedHosts: []string{"library.example"}, AllowedOrigins: []string{"https://reader.example"}},
	})
	init := fmt.Sprintf(initializeFormat, "2025-11-25", "{}")
	open.wantStatus(open.send("POST", pathMCP, init, "Host: library.example", "Origin: https://reader.example"), 200)
	open.wantStatus(
		open.send("POST", pathMCP, init, "Host: library.example", "Origin: https://reader.example:444"), 403,
	)
}

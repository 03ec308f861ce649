package authorization

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/suites/check"
)

// An upstream is an HTTP server on the loopback interface that keeps the requests
// that it receives.
type upstream struct {
	URL  string
	stop func()

	mu       sync.Mutex
	received []string // each request as one text
}

// listenUpstream serves one page until stop is called.
func listenUpstream() (*upstream, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the requests of tools: %w", err)
	}
	u := &upstream{URL: "http://" + l.Addr().String() + "/mcpcheck/page"}
	server := &http.Server{Handler: u, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	u.stop = func() {
		server.Close() // Serve returns an error of its own then
		<-ended
	}
	return u, nil
}

// maxUpstreamBody bounds how much is read of the body of a request.
const maxUpstreamBody = 64 << 10

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxUpstreamBody))
	if err != nil {
		body = nil // the client has closed the connection
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s\n", r.Method, r.RequestURI)
	_ = r.Header.Write(&text) // a Builder returns no error
	text.Write(body)
	u.mu.Lock()
	u.received = append(u.received, text.String())
	u.mu.Unlock()
	w.Header().Set("Content-Type", "text/plain")
	fmt.Fprintln(w, "A page of mcpcheck.")
}

// requests returns the requests received so far.
func (u *upstream) requests() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return slices.Clone(u.received)
}

// urlArgument returns the argument of a tool that holds a URL by its format or its
// name, "" for none.
func urlArgument(tool gjson.Result) (name string) {
	tool.Get("inputSchema.properties").ForEach(func(key, property gjson.Result) bool {
		named := slices.Contains([]string{"url", "uri", "link", "href"}, strings.ToLower(key.String()))
		if property.Get("type").String() == "string" && (property.Get("format").String() == "uri" || named) {
			name = key.String()
		}
		return name == ""
	})
	return name
}

// withArgument returns arguments, given as JSON, with one of them replaced. ok is
// false if they are no object.
func withArgument(arguments, name, value string) (args check.Params, ok bool) {
	if json.Unmarshal([]byte(arguments), &args) != nil {
		return nil, false
	}
	args[name] = value
	return args, true
}

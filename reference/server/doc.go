// Package server is the conforming MCP server that the checks are proven on. It
// speaks every published revision over stdio, streamable HTTP and HTTP+SSE from
// one code base. It does what the specification says and nothing that a seeded
// fault would do: a fault decorates one of the hooks in Options, HTTP and AuthorizationOptions.
// What it offers is a small example: the lending desk of a library.
//
// # Main types
//
//   - Options configures the server. Serve runs it on stdio, Listen over HTTP.
//   - conn is one connection: the requests in flight and the messages in both
//     directions. A connection is a Serve on stdio and a session over HTTP; all
//     stateless requests over HTTP share one.
//   - Request is one request of the client, with what its handler needs to send
//     notifications, to ask for input and to wait.
//   - Session is the state that initialize negotiates in the handshake revisions.
//   - Features holds the features on offer: tools, resources, templates, prompts
//     and skills.
//   - HTTPHandler serves the HTTP endpoints. An httpSession is a session over
//     HTTP, an exchange one POST, a Stream a sequence of server-sent events.
//   - authorization checks the access tokens of a protected server.
//
// # Flow of a request
//
// On stdio conn.readLines reads a line; over HTTP conn.receivePost takes the body
// of a POST. Both call the hook Incoming, which ends in conn.receiveMessage: it
// parses the message, and conn.dispatch routes it by its kind. A request becomes a
// Request with a job of its own and goes through the hook Handler to
// conn.serveRequest, which checks the preconditions of the era and looks the method
// up in the table of methods.go. The result or error becomes a Frame, which leaves
// through the hook Frames: on stdio to the output, over HTTP to the Stream of the
// exchange that it belongs to.
//
// # Differences between revisions
//
// What differs between revisions is data: the table of methods (methods.go), the
// members that a revision knows (members.go) and the facts of package spec. Only
// the ways to obtain input from the client are separate code: by requests
// (client_requests.go), by input_required results (input_required.go) and by the
// entries of a task (tasks_extension.go).
//
// The files library_*.go hold the example library, the files official_*.go the
// tools, resources and prompts of the public conformance contract.
package server

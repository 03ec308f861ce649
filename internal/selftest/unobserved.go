package selftest

// unobserved are the checks that have no subject on the reference at some revision,
// each for the reason beside it.
var unobserved = []string{
	"jsonrpc.method.unadvertised", // it declares every capability
	"ping.sent.params",            // it sends no pings
	"ping.sent.rate",              // likewise
	"tools.result.failure",        // it has no tool of the public contract
	"versioning.extensions.names", // it has no extensions
	"versioning.extensions.settings",
	"schema.dialect.declared",        // its schemas are of 2020-12
	"jsonrpc.failure.resources-read", // what it lists does not fail
	"jsonrpc.failure.prompts-get",    // likewise
	"jsonrpc.failure.completion",     // likewise
	"resources.read.path",            // it has no files
	"schema.meta.object",             // it sends no _meta before 2026-07-28
	"schema.meta.prefix",             // likewise
	"schema.meta.label",              // likewise
	"schema.meta.name",               // likewise
	"schema.meta.reserved",           // likewise
	"tasks.related.requests",         // likewise: tasks
	"tasks.poll.interval",            // likewise
	"tasks.poll.input",               // likewise
	"tasks.poll.cursor",              // likewise
	"schema.meta.trace",              // it takes part in no trace
	"progress.requested.type",        // it sends requests only to clients that declare a capability
	"progress.requested.unique",      // likewise
	"cancellation.sent.task",         // likewise
	"sampling.context.known",         // it requests no context

	"resources.template.match.survived", // it has no template with an exploded variable

	"authorization.server.https",      // what it names is on the loopback interface
	"authorization.metadata.https",    // likewise
	"authorization.token.passthrough", // it has no tool that fetches anything

	"cancellation.sent.params",       // over HTTP the end of the stream stands for it, and no server ends
	"cancellation.sent.subscription", // likewise
	"subscriptions.cancelled",        // likewise
	"subscriptions.end.shape",        // likewise

	"http-sse.hosted.post",           // without handshake revisions it has no HTTP+SSE
	"http-sse.refused.survived",      // over HTTP+SSE it refuses by a message, not by a status
	"streamable-http.cors.fields",    // it allows no pages of other sites
	"streamable-http.cors.session",   // likewise
	"streamable-http.refusal.status", // without sessions it accepts every notification
	"streamable-http.stream.retry",   // only the variant with streams alone has clients poll
}

// Package fuzz searches for inputs that break a server.
//
// One run goes through these parts:
//
//   - Discovery (discover.go) opens a session at each revision and lists what
//     the target offers. The list determines which tools may be called
//     (toolpolicy.go) and the base frames of the revision (corpus.go): the
//     client's frames of the golden exchanges, requests for what the target
//     offers, and the table of malformed frames.
//   - Calibration (prepare.go) sends each base frame without a mutation. A judge
//     that reports a violation even so is not used in this run.
//   - Generation (generate.go) draws a plan: some base frames, the mutations of
//     each (mutate.go, values.go), and how they are sent. A plan is data. The
//     seed of the run and the number of the plan determine it.
//   - Execution (script.go, execute.go, execute_http.go) turns the plan into the
//     bytes of a script, sends them in a session, awaits the answers that the
//     peer must give (required.go, tracker.go), and sends a request that shows
//     whether the peer still answers (liveness.go).
//   - The oracles (oracle.go) turn what the execution recorded into a symptom:
//     the peer ended, it answers no further request, it leaves a request without an
//     answer, or a judge of a MUST reports a violation. That the peer accepts a
//     mutated message is never a symptom.
//   - A plan with a new symptom is shrunk (shrink.go, rapid.go), confirmed in
//     fresh sessions (finding.go), named by its cause (cause.go), and written as
//     a case file (case.go). A plan whose symptom and cause are known is counted
//     only.
//   - Replay (replay.go) executes a case file on a fresh instance of a target.
package fuzz

package server

// Progress reports how far a request has come, if its client gave a token for
// it (basic/utilities/progress). done must grow from report to report; a message
// of "" is left out.
func (r *Request) Progress(done, total int, message string) {
	meta, _ := r.Params["_meta"].(Object)
	token, ok := meta["progressToken"]
	if !ok {
		return
	}
	o := Object{"progressToken": token, "progress": done, "total": total}
	if message != "" {
		o["message"] = message
	}
	r.Notify("notifications/progress", membersAt(r.Revision, "Progress", o))
}

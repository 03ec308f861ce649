package server

// Progress sends a progress notification if the request holds a progress token
// (basic/utilities/progress). done must increase with each notification; a message
// of "" is omitted.
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
	r.Notify("notifications/progress", reduceTo(r.Revision, "Progress", o))
}

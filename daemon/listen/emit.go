package listen

import (
	"net/http"
	"strings"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/config"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
)

// emit emits an event as root does, or as the user in the path would. The answer does not tell which
// jobs it started: a token for events may know nothing of them.
func (s *Server) emit(w http.ResponseWriter, r *http.Request) {
	source := r.PathValue("event")
	if user := r.PathValue("user"); user != "" {
		source = user + "/" + source
	}
	ev := event.Emit{Name: source, User: "root", Admin: true}
	if user, name, full := strings.Cut(source, "/"); full {
		ev = event.Emit{Name: name, User: user}
	}
	act := job.Action{What: "emit", Subject: ev.Name, Owner: ev.User}
	token, body, leave := s.admit(w, r, config.AllowEmit+source, act)
	if leave == nil {
		return
	}
	defer leave()
	ev.By = "token:" + token
	runs, status, refusal := s.emitted(r, ev, source, body)
	if refusal != nil {
		act.Refused = refusal.Why
		s.note(r, token, act)
		fail(w, status, refusal.Kind, "cannot emit "+source, refusal.Why)
		return
	}
	act.After = display.Count(runs, "run")
	s.note(r, token, act)
	answer(w, http.StatusAccepted, api.Emitted{V: api.Version, Event: ev.Name, User: ev.User, Runs: []job.Run{}})
}

func (s *Server) emitted(r *http.Request, ev event.Emit, source string, body []byte) (runs, status int, refusal *api.Error) {
	env, err := envOf(body)
	if err == nil {
		ev.Env, err = job.EventEnv(env)
	}
	if err == nil {
		err = option.CheckReference(source)
	}
	if err != nil {
		return 0, http.StatusBadRequest, invalid(err)
	}
	started, status, refusal := s.ask(r.Context(), ev)
	return len(started), status, refusal
}

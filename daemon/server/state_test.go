package server

import (
	"net/http"
	"testing"

	"github.com/cronring/cronring/daemon/api"
)

func TestStateIsKeptForTheJobsAccount(t *testing.T) {
	w := annsWorld(t)
	set := `{"job":"ann-job","key":"last","value":"NDcxMQ=="}`
	if _, status := asked[api.State](w, annUID, "POST", "/v1/state", "", set); status != http.StatusOK {
		t.Fatalf("ann sets: status %d", status)
	}
	for uid, want := range map[uint32]int{annUID: http.StatusOK, 0: http.StatusOK, bobUID: http.StatusNotFound} {
		s, status := asked[api.State](w, uid, "GET", "/v1/state", "job=ann-job&key=last", "")
		if status != want || status == http.StatusOK && string(s.Entries[0].Value) != "4711" {
			t.Errorf("uid %d reads %+v, status %d, want %d", uid, s, status, want)
		}
	}
	s, _ := asked[api.State](w, annUID, "GET", "/v1/state", "job=ann-job", "")
	if len(s.Entries) != 1 || s.Entries[0].Key != "last" || s.Entries[0].Size != 4 || s.Entries[0].Value != nil {
		t.Errorf("ann lists %+v, want one key without its value", s)
	}
	w.Load("#@ name=ann-job\n* * * * * bob true\n") // bob takes the name
	if _, status := asked[api.State](w, bobUID, "GET", "/v1/state", "job=ann-job&key=last", ""); status != http.StatusNotFound {
		t.Errorf("bob, whose job has the name now, reads ann's state: status %d, want 404", status)
	}
}

func TestStateIsDeletedOnce(t *testing.T) {
	w := annsWorld(t)
	asked[api.State](w, annUID, "POST", "/v1/state", "", `{"job":"ann-job","key":"last","value":""}`)
	if s, status := asked[api.State](w, annUID, "GET", "/v1/state", "job=ann-job&key=last", ""); status != http.StatusOK || s.Entries[0].Size != 0 {
		t.Errorf("an empty value: %+v, status %d", s, status)
	}
	for _, want := range []int{http.StatusOK, http.StatusNotFound} {
		if _, status := asked[api.State](w, annUID, "POST", "/v1/state", "", `{"job":"ann-job","key":"last","delete":true}`); status != want {
			t.Errorf("delete: status %d, want %d", status, want)
		}
	}
}

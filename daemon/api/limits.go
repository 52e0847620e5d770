package api

// What one request may contain. Texts have at most job.MaxText bytes.
const (
	MaxItems = 1000 // elements of a list
	MaxPath  = 4096 // bytes of a path, as PATH_MAX
)

// postParts posts a request as several ones that each have at most MaxItems of
// refs, and adds up the results. It stops at the first error. Without refs it
// posts one.
func postParts[T any](refs []string, post func(part []string) ([]T, error)) ([]T, error) {
	all, err := post(refs[:min(MaxItems, len(refs))])
	for len(refs) > MaxItems && err == nil {
		refs = refs[MaxItems:]
		var more []T
		more, err = post(refs[:min(MaxItems, len(refs))])
		all = append(all, more...)
	}
	return all, err
}

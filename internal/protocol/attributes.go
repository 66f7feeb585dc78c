package protocol

import enumspb "go.temporal.io/api/enums/v1"

// SearchAttributes lists the custom attributes that a namespace needs.
func SearchAttributes() map[string]enumspb.IndexedValueType {
	return map[string]enumspb.IndexedValueType{
		AttrCampaign.GetName():   AttrCampaign.GetValueType(),
		AttrRepo.GetName():       AttrRepo.GetValueType(),
		AttrPhase.GetName():      AttrPhase.GetValueType(),
		AttrGeneration.GetName(): AttrGeneration.GetValueType(),
		AttrScore.GetName():      AttrScore.GetValueType(),
		AttrBaseline.GetName():   AttrBaseline.GetValueType(),
		AttrKept.GetName():       AttrKept.GetValueType(),
	}
}
